*** Settings ***
Documentation       Faults of an etcd of three members under two controllers and 1,000 packets a second, none of which may be lost: no switch is touched. What was
...                 acknowledged is there afterwards. What is elsewhere: docs/faults.md.
Resource            ../resources/coeus.resource
Library             ../libraries/Etcd.py
Library             ../libraries/Faults.py
Library             ../libraries/Restarts.py
Library             ../libraries/Storm.py
Suite Setup         Start Two Nodes With Pods
Suite Teardown      Stop Lab On Etcd

*** Test Cases ***
The Leader Of Etcd Is Killed
    Start Probes    blue:p1    10.11.2.10    15000
    ${leader}    ${other}=    Leading Member
    Kill Member    ${leader}
    And It Works
    Start Etcd
    Nothing Was Lost

A Minority Is Cut Off
    [Documentation]    The member that leads is alone; the others elect, and the controller goes on with them.
    Start Probes    blue:p1    10.11.2.10    25000
    ${leader}    ${other}=    Leading Member
    Cut Off    ${leader}
    And It Works
    Join Again    ${leader}
    And It Works
    Nothing Was Lost

The Majority Is Away
    [Documentation]    A write waits for it, as long as the lease lets it.
    Start Probes    blue:p1    10.11.2.10    15000
    FOR    ${name}    IN    two    three
        Signal Member    ${name}    STOP
    END
    ${timer}=    After    5    three
    And It Works
    Signal Member    two    CONT
    Nothing Was Lost

The Past Is Compacted
    [Documentation]    All that etcd remembers is the present; who takes over needs no more.
    Start Probes    blue:p1    10.11.2.10    30000
    Compact Etcd
    And It Works
    Compact Etcd
    ${before}=    All That Is Configured
    ${active}=    Active Controller
    Kill And Wait    ${active}
    ${next}=    One Of These Takes Over    35    a    b
    Start Controller Named    ${active}
    Wait Until Standby    ${active}
    ${after}=    All That Is Configured
    Should Be Equal    ${before}    ${after}
    And It Works
    Nothing Was Lost

The Lease Is Lost While Its Holder Lives
    [Documentation]    It ends itself at once, since another may be writing. Each of the two has a lease for its switches, too.
    Start Probes    blue:p1    10.11.2.10    30000
    ${active}=    Active Controller
    ${count}=    Revoke Leases
    Should Be Equal As Integers    ${count}    3
    ${code}=    Exit Code Of    ${active}
    Should Be Equal As Integers    ${code}    3
    ${next}=    One Of These Takes Over    35    a    b
    Start Controller Named    ${active}
    Wait Until Standby    ${active}
    And It Works
    Nothing Was Lost

And All Is As It Should Be
    FOR    ${name}    IN    a    b
        Signal Controller    ${name}    TERM
        Exit Code Of    ${name}
    END
    ${folder}=    Folder Of Copy
    ${code}    ${text}=    Copy Store    etcd://127.0.0.1:2379/coeus    sled:${folder}
    Should Be Equal As Integers    ${code}    0    ${text}
    Switches Should Be As In    ${folder}

*** Keywords ***
Start Two Nodes With Pods
    Start Lab On Etcd    2    controllers=2    members=3
    Start Controller Named    b
    Wait Until Standby    b
    Open Session
    Announce Node    1    10.11.1.0/24
    Announce Node    2    10.11.2.0/24
    Create And Plug Pod    p1    blue    1    10.11.1.10    10.11.1.1
    Create And Plug Pod    p2    blue    1    10.11.1.11    10.11.1.1
    Create And Plug Pod    p3    blue    2    10.11.2.10    10.11.2.1
    All Pods Should Reach All    blue
    Plug Pod    new    blue    1    10.11.1.50/24    10.11.1.1
    Wait For Switches

Kill And Wait
    [Arguments]    ${name}
    Signal Controller    ${name}    KILL
    Exit Code Of    ${name}

Nothing Was Lost
    ${sent}    ${lost}=    Probes Lost
    Should Be Equal As Integers    ${lost}    0

And It Works
    [Documentation]    A pod comes, is reached, and goes. Its port is there all the time: vswitchd, which forwards in the thread that takes up ports, is not tried here.
    ${active}=    Active Controller
    Wait Until Ready    ${active}
    Open Session
    Create Pod    new    blue    1    10.11.1.50
    Ping Should Pass    blue:new    10.11.2.10
    Delete Pod    new    blue
