*** Settings ***
Documentation       Two controllers on one etcd that both serve: what is written through one is read from the other, the active one or not, while it is killed and
...                 while etcd is frozen.
Resource            ../resources/coeus.resource
Library             ../libraries/Etcd.py
Library             ../libraries/LinearCases.py
Suite Setup         Start Two Controllers
Suite Teardown      Stop Lab On Etcd

*** Test Cases ***
The Checker Knows What Cannot Be
    The Checker Is Right In Its Cases

What Is Written Through One Is Read From The Other
    FOR    ${number}    IN RANGE    1    21
        ${name}=    Set Variable If    ${number} % 2    a    b
        ${other}=    Set Variable If    ${number} % 2    b    a
        ${status}    ${headers}=    Put Number    ${name}    n    ${number}
        Should Be True    ${status} in (201, 204)    ${status}
        ${found}    ${tag}=    Number Of    ${other}    n
        Should Be Equal As Integers    ${found}    ${number}
        ${found}    ${tag}=    Number Of    ${name}    n
        Should Be Equal As Integers    ${found}    ${number}
    END

A Tag Of The Follower Is Good For A Write Through It
    ${found}    ${tag}=    Number Of    b    n
    ${status}    ${headers}=    Put Number    b    n    100    if_match=${tag}
    Should Be Equal As Integers    ${status}    204
    ${status}    ${headers}=    Put Number    b    n    101    if_match=${tag}
    Should Be Equal As Integers    ${status}    412
    ${found}    ${tag}=    Number Of    a    n
    Should Be Equal As Integers    ${found}    100

What Only The Active One Knows Is Read From Both
    FOR    ${name}    IN    a    b
        ${status}=    Status Of    ${name}    GET    /rests/data/coeus-status:switches
        Should Be Equal As Integers    ${status}    200
        ${status}=    Status Of    ${name}    GET    /rests/data/network-topology:network-topology
        Should Be Equal As Integers    ${status}    200
    END

Who Is Nobody Is Refused By Both
    FOR    ${name}    IN    a    b
        ${status}=    Status Of    ${name}    GET    /rests/data/pod:coe    authorization=Basic eDp5
        Should Be Equal As Integers    ${status}    401
    END

A Frozen Etcd Lets Nobody Read What May Be Old
    Signal Etcd    STOP
    ${status}=    Status Of    b    GET    /rests/data/pod:coe?content\=config
    Should Be Equal As Integers    ${status}    503
    ${found}    ${tag}=    Number Of    b    n    coeus_read=local
    Should Be Equal As Integers    ${found}    100
    Signal Etcd    CONT
    Wait Until Keyword Succeeds    15 s    200 ms    Numbers Are Read    b

A Killed Controller Takes No Write Along And Leaves No Stale Read
    Start Clients
    Sleep    3 s
    Signal Etcd    STOP
    Sleep    2 s
    Signal Etcd    CONT
    Sleep    2 s
    Signal Controller    a    KILL
    Exit Code Of    a
    ${status}    ${headers}=    Put Number    b    m    1
    Should Be Equal As Integers    ${status}    503
    ${seconds}=    Retry After Of    ${headers}
    Should Be Equal As Integers    ${seconds}    1
    Takes Over    b    30
    Start Controller Named    a
    Wait Until Standby    a
    Sleep    2 s
    Signal Controller    b    TERM
    Takes Over    a    12
    Exit Code Of    b
    Start Controller Named    b
    Wait Until Standby    b
    Sleep    2 s
    Stop Clients

*** Keywords ***
Start Two Controllers
    Start Lab On Etcd    1
    Start Controller Named    b
    Wait Until Standby    b

Numbers Are Read
    [Arguments]    ${name}
    ${status}=    Status Of    ${name}    GET    /rests/data/pod:coe?content\=config
    Should Be Equal As Integers    ${status}    200
