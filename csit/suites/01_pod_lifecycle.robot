*** Settings ***
Documentation       The specification's TC1 (create a pod within a node under a namespace) and TC4 (delete a pod from a namespace).
Resource            ../resources/coeus.resource
Suite Setup         Start Two Nodes
Suite Teardown      Stop Lab

*** Variables ***
${ELAN 1}           192.168.200.1:blue

*** Test Cases ***
TC1 A Pod Within A Node Under A Namespace
    [Documentation]    elan-instance, vpn-instance, the three interfaces, interface-state and traffic follow from one PUT.
    Create And Plug Pod    p1    blue    1    10.11.1.10    10.11.1.1
    Resource Should Exist    ${CONFIG}/elan:elan-instances/elan-instance/${ELAN 1}
    Resource Should Exist    ${CONFIG}/l3vpn:vpn-instances/vpn-instance/blue
    Resource Should Exist    ${CONFIG}/ietf-interfaces:interfaces/interface/blue:p1
    ${elan interface}=    Resource Should Exist    ${CONFIG}/elan:elan-interfaces/elan-interface/blue:p1
    Should Be Equal    ${elan interface}[elan:elan-interface][0][elan-instance-name]    ${ELAN 1}
    Resource Should Exist    ${CONFIG}/l3vpn:vpn-interfaces/vpn-interface/blue:p1
    Wait Until Keyword Succeeds    10 s    200 ms
    ...    Resource Should Exist    ${OPERATIONAL}/ietf-interfaces:interfaces-state/interface/blue:p1
    Ping Should Pass    blue:p1    10.11.1.1

TC1 A Second Pod Of The Namespace Shares The Instances
    Create And Plug Pod    p2    blue    1    10.11.1.11    10.11.1.1
    Create And Plug Pod    p3    blue    2    10.11.2.10    10.11.2.1
    ${elans}=    Resource Should Exist    ${CONFIG}/elan:elan-instances
    Length Should Be    ${elans}[elan:elan-instances][elan-instance]    2
    ${vpns}=    Resource Should Exist    ${CONFIG}/l3vpn:vpn-instances
    Length Should Be    ${vpns}[l3vpn:vpn-instances][vpn-instance]    1
    All Pods Should Reach All    blue

TC1 The Port May Come Before The Pod
    Plug Pod    early    blue    2    10.11.2.11/24    10.11.2.1
    Create Pod    early    blue    2    10.11.2.11
    All Pods Should Reach All    blue

A Second Pod With The Same Address Is Refused With Its Owner's Name
    ${answer}=    Create Pod    twin    blue    2    10.11.1.10    expected=409
    Should Contain    ${answer.text}    p1

TC4 A Deleted Pod Is Gone And The Others Stay
    Delete Pod    early    blue
    Unplug Pod    early    blue
    Resource Should Not Exist    ${CONFIG}/ietf-interfaces:interfaces/interface/blue:early
    Resource Should Not Exist    ${CONFIG}/elan:elan-interfaces/elan-interface/blue:early
    Resource Should Not Exist    ${CONFIG}/l3vpn:vpn-interfaces/vpn-interface/blue:early
    Ping Should Fail    blue:p1    10.11.2.11
    All Pods Should Reach All    blue

TC4 The Last Pod On A Node Takes The Elan With It
    Delete Pod    p3    blue
    Resource Should Not Exist    ${CONFIG}/elan:elan-instances/elan-instance/192.168.200.2:blue
    Resource Should Exist    ${CONFIG}/elan:elan-instances/elan-instance/${ELAN 1}
    Resource Should Exist    ${CONFIG}/l3vpn:vpn-instances/vpn-instance/blue
    Unplug Pod    p3    blue

TC4 The Last Pod Of The Namespace Leaves Nothing
    Delete Pod    p1    blue
    Delete Pod    p2    blue
    Unplug Pod    p1    blue
    Unplug Pod    p2    blue
    Resource Should Not Exist    ${CONFIG}/elan:elan-instances/elan-instance/${ELAN 1}
    Resource Should Not Exist    ${CONFIG}/l3vpn:vpn-instances/vpn-instance/blue
    FOR    ${node}    IN    1    2
        Flow Count Should Become    ${node}    ${EMPTY FLOWS ${node}}
        ${stale}=    Stale Ports    ${node}
        Should Be Empty    ${stale}
    END

*** Keywords ***
Start Two Nodes
    Start Lab And Session    2
    Announce Node    1    10.11.1.0/24
    Announce Node    2    10.11.2.0/24
    FOR    ${node}    IN    1    2
        ${count}=    Wait Until Keyword Succeeds    15 s    500 ms    Settled Flow Count    ${node}
        Set Suite Variable    ${EMPTY FLOWS ${node}}    ${count}
    END

Settled Flow Count
    [Documentation]    The number of flows of a node without pods, once it has stopped changing.
    [Arguments]    ${node}
    ${before}=    Flow Count    ${node}
    Should Be True    ${before} > 10
    Sleep    400 ms
    ${after}=    Flow Count    ${node}
    Should Be Equal    ${before}    ${after}
    RETURN    ${after}
